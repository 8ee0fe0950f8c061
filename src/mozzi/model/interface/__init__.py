"""What a `Model` can be asked for, and how changed copies of it are made."""
