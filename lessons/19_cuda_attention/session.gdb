break broken.cu:43 if threadIdx.x == 2
run
print query
print *q@4
print *(k+8)@4
print score
print (0*0 + 1*1 + 2*2 + 3*3) / 2.0
