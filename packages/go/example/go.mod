module example

go 1.21

require rocketspec/vectors v0.0.0

replace rocketspec/vectors => ../
