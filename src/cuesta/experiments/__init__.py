"""The matrix of the paper's runs: what is run, what came of it, and the record that is kept."""
