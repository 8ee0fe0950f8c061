"""What a call does: the decorator, arguments and their shapes, help, models with loops."""
