"""What strategies would have cost and forgotten, on saved sessions."""
