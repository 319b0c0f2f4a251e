break broken.cu:33 if threadIdx.x == 5 && distance == 16
run
print other
print other_place
print value
next
next
print place
