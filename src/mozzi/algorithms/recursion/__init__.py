"""How algorithms see a model: the decorator, bodies outward and inward, what bodies keep."""
