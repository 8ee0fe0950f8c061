"""How algorithms see a model: bodies outward and inward, what bodies keep, rolled or not."""
