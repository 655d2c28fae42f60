; Written by hand: opaque pointers, named metadata, debug records and a loop
; whose stride is known only to the caller.
source_filename = "by-hand.c"
target datalayout = "e-p3:32:32-i64:64"
target triple = "x86_64-unknown-linux-gnu"

%struct.pair = type { i8, double, [3 x i32] }
@"odd name" = global i32 0

define void @strided(i32 %0, ptr nocapture noundef %1, i64 %2) !dbg !3 {
    #dbg_value(i32 %0, !9, !DIExpression(), !8)
  br label %loop

loop:                                             ; preds = %loop, %3
  %i = phi i64 [ 0, %3 ], [ %next, %loop ]
  %offset = mul nsw i64 %i, %2
  %p = getelementptr inbounds nuw %struct.pair, ptr %1, i64 %i, i32 1
  %q = getelementptr i32, ptr %1, i64 %offset
  %v = load double, ptr %p, align 8, !dbg !8
  %w = load i32, ptr %q, align 4, !dbg !8
  %x = sitofp i32 %w to double
  %y = call fast double @llvm.fma.f64(double %v, double %x, double 1.000000e+00), !dbg !8
  store double %y, ptr %p, align 8, !dbg !8
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 100
  br i1 %more, label %loop, label %"the end", !dbg !8

"the end":                                        ; preds = %loop
  switch i32 %0, label %out [
    i32 1, label %one
    i32 2, label %out
  ]

one:                                              ; preds = %"the end"
  %old = atomicrmw add ptr @"odd name", i32 1 seq_cst, align 4
  br label %out

out:                                              ; preds = %one, %"the end", %"the end"
  ret void
}

declare double @llvm.fma.f64(double, double, double)

!llvm.dbg.cu = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1)
!1 = !DIFile(filename: "by-hand.c", directory: "/somewhere")
!3 = distinct !DISubprogram(name: "strided", scope: !1, file: !1, line: 7, unit: !0)
!8 = !DILocation(line: 9, column: 3, scope: !3)
!9 = !DILocalVariable(name: "n", scope: !3)
