break broken.cu:22 if blockIdx.x == 0 && threadIdx.x == 3
run
print i
next
print right
print blockDim.x
print x[i]@2
print x[right]
