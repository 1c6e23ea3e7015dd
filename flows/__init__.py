"""One Prefect flow per mission, thin: parameters → mission → artifact and state."""
