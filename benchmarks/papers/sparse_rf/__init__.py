"""Tables 1 and 2 and Figure 1 of Sparse Random Features."""
