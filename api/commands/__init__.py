"""The commands of `vigencia`, one module per group; `api.cli` puts them together."""
