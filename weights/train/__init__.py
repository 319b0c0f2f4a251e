"""The models that weights/ holds: their text, their PyTorch modules, their training and their judge.

Commands run in weights/, as `python3 -m train.train_decoder`.
"""
