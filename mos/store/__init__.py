"""Firestore: declared queries, the one write gateway, the transaction wrapper."""
