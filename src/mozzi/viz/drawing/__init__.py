"""What is drawn: shapes of bodies, meshes, solids, marks."""
