	.text
	.type	nested,@function
nested:
	xorl	%ecx, %ecx
.outer:
	movl	$8, %eax
.inner:
	imull	%edx, %ebx
	cmpl	$3, %ebx
	je	.skip
	addl	$1, %edx
.skip:
	decl	%eax
	jne	.inner                  # back to .inner
	incl	%ecx
	cmpl	$100, %ecx
	jb	.outer
	callq	nested
	jmp	.done
.done:
	retq
	.type	straight,@function
straight:
	leaq	straight(%rip), %rax
	retq
