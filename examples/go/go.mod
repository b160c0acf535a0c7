module farebox-example

go 1.19
