	.text
f:
# LLVM-MCA-BEGIN multiply
	imulq	%rax, %rbx
	imulq	%rbx, %rbx
# LLVM-MCA-END
	retq
