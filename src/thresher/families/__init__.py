"""Where features come from: families that a working-set loop proposes from."""
