"""What strategies would cost: saved and recorded traffic, replayed through the live exchange."""
