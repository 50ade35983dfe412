"""Where the ledger and the trace live: in memory, or in SQLite in the state folder."""
