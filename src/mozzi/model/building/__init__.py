"""How a `Builder` collects what is added, and makes a model of it."""
