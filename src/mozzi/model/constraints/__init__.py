"""What a model has besides its tree: loops, couplings, distances, rolling, contacts, springs."""
