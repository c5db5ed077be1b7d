"""The memory store on Neo4j."""
