module rocketspec/vectors

go 1.21
