"""The versioned record of what happened; a pure schema."""
