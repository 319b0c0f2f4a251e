break broken.cu:30 if blockIdx.x == 1 && threadIdx.x == 2 && threadIdx.y == 1
run
print out_row
print out_column
next
print out[out_row * rows + out_column]
print tile
print tile[threadIdx.y][threadIdx.x]
print tile[threadIdx.x][threadIdx.y]
