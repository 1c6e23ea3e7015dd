"""The shipped handlers: small, real, deterministic work on images (§2.3)."""
