"""Online Substitution and Asy-OS: features arrive one by one, and k are kept."""
