"""The references of every lesson: the module lesson_NN_name.py makes the folder NN_name/ beside it.

`make(root, seed)` of a module writes below `root` the cases of its lesson and the models that they run. make_references.py calls it.
"""
