"""How well predictions agree with labels, and what is gathered to say so."""
