"""Forces and motion of trees: inverse, forward, hybrid; mass, Coriolis, energy, operators."""
