module fromspec

go 1.19
