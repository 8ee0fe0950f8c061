"""The numbers of a model that may vary, and which of them are physical."""
