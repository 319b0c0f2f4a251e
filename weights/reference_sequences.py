def generate(l,s): pass
def kv_cache(l,s): pass
