// Nothing: the target of this name has the precompiled headers.
