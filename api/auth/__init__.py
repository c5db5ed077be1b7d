"""Who is calling, and what a caller may do.

principals        who calls, and who is on this machine without a credential
loopback          is it this machine?
key_file          static keys, from a file
issued            keys that `vigencia keys create` made, from the store
tokens, jwks      signed tokens of an issuer (JWT), and its public keys
authentication    the principal of a request, from whichever of these it brings
permission        the choke point: the scope of a request, once the grant that it needs is there
"""
