"""What goes over the wire: bodies, queries, answers, and the document that describes them."""
