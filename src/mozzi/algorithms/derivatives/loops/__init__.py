"""The same derivatives where loops close the tree."""
