"""The HTTP shell: it performs the exchange's commands over sockets and decides nothing."""
