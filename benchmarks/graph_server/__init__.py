"""How fast the store on a Neo4j server is, against the bare driver on the same server."""
