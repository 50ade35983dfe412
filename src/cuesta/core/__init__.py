"""What a transcript is and how it is compacted: standard library only, no I/O, no clock."""
