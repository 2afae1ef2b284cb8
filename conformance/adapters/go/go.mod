module rocketspec-adapter

go 1.21
