"""How the missions get into Prefect: the registry, and what is generated from it."""
