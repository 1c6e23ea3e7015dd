"""Recovery missions: one use case per file, each observe → decide → act → report."""
