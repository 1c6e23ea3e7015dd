"""Pure rules: no SDK, clock, randomness, environment or logging. `now` is always an argument."""
