break broken.cu:18 if *count == 2
run
print position
print *count
print row
print *cache@4
