;; Products of rows: out[i][j] = sum over k of a[i][k] * b[j][k], for f64 rows of one length.
;;
;; Four rows of a meet two rows of b at a time, so that six loads serve eight products of two lanes. Even
;; and odd places are summed apart and then together: the kernel without WebAssembly does the same, to the
;; same bits. One step a turn: V8 makes worse code of two.
;; Rebuild `scratch-wasm.ts` with `node_modules/.bin/tsx test/golden/compile-scratch.ts`.
(module
  (memory (export "memory") 1)

  ;; a, b, out: addresses, multiples of 16. rowsA: a multiple of 4, at least 4; rowsB: of 2, at least 2;
  ;; length: even, at least 2. out has rowsB columns. isTriangle: a is b, and what lies left of the blocks
  ;; on the diagonal is not written.
  (func (export "multiply")
    (param $a i32) (param $rowsA i32) (param $b i32) (param $rowsB i32)
    (param $length i32) (param $out i32) (param $isTriangle i32)
    (local $stride i32) (local $outStride i32) (local $i i32) (local $j i32) (local $place i32) (local $cell i32)
    (local $a0 i32) (local $a1 i32) (local $a2 i32) (local $a3 i32) (local $b0 i32) (local $b1 i32)
    (local $left v128) (local $right0 v128) (local $right1 v128)
    (local $s00 v128) (local $s01 v128) (local $s10 v128) (local $s11 v128)
    (local $s20 v128) (local $s21 v128) (local $s30 v128) (local $s31 v128)

    (local.set $stride (i32.shl (local.get $length) (i32.const 3)))
    (local.set $outStride (i32.shl (local.get $rowsB) (i32.const 3)))
    (loop $rows
      (local.set $j (select (local.get $i) (i32.const 0) (local.get $isTriangle)))
      (loop $columns
        (local.set $a0 (i32.add (local.get $a) (i32.mul (local.get $i) (local.get $stride))))
        (local.set $a1 (i32.add (local.get $a0) (local.get $stride)))
        (local.set $a2 (i32.add (local.get $a1) (local.get $stride)))
        (local.set $a3 (i32.add (local.get $a2) (local.get $stride)))
        (local.set $b0 (i32.add (local.get $b) (i32.mul (local.get $j) (local.get $stride))))
        (local.set $b1 (i32.add (local.get $b0) (local.get $stride)))
        (local.set $place (i32.const 0))
        (local.set $s00 (v128.const f64x2 0 0))
        (local.set $s01 (v128.const f64x2 0 0))
        (local.set $s10 (v128.const f64x2 0 0))
        (local.set $s11 (v128.const f64x2 0 0))
        (local.set $s20 (v128.const f64x2 0 0))
        (local.set $s21 (v128.const f64x2 0 0))
        (local.set $s30 (v128.const f64x2 0 0))
        (local.set $s31 (v128.const f64x2 0 0))

        (loop $places
          (local.set $right0 (v128.load (i32.add (local.get $b0) (local.get $place))))
          (local.set $right1 (v128.load (i32.add (local.get $b1) (local.get $place))))
          (local.set $left (v128.load (i32.add (local.get $a0) (local.get $place))))
          (local.set $s00 (f64x2.add (local.get $s00) (f64x2.mul (local.get $left) (local.get $right0))))
          (local.set $s01 (f64x2.add (local.get $s01) (f64x2.mul (local.get $left) (local.get $right1))))
          (local.set $left (v128.load (i32.add (local.get $a1) (local.get $place))))
          (local.set $s10 (f64x2.add (local.get $s10) (f64x2.mul (local.get $left) (local.get $right0))))
          (local.set $s11 (f64x2.add (local.get $s11) (f64x2.mul (local.get $left) (local.get $right1))))
          (local.set $left (v128.load (i32.add (local.get $a2) (local.get $place))))
          (local.set $s20 (f64x2.add (local.get $s20) (f64x2.mul (local.get $left) (local.get $right0))))
          (local.set $s21 (f64x2.add (local.get $s21) (f64x2.mul (local.get $left) (local.get $right1))))
          (local.set $left (v128.load (i32.add (local.get $a3) (local.get $place))))
          (local.set $s30 (f64x2.add (local.get $s30) (f64x2.mul (local.get $left) (local.get $right0))))
          (local.set $s31 (f64x2.add (local.get $s31) (f64x2.mul (local.get $left) (local.get $right1))))
          (local.set $place (i32.add (local.get $place) (i32.const 16)))
          (br_if $places (i32.lt_u (local.get $place) (local.get $stride))))

        (local.set $cell
          (i32.add (local.get $out)
            (i32.add (i32.mul (local.get $i) (local.get $outStride)) (i32.shl (local.get $j) (i32.const 3)))))
        (f64.store (local.get $cell) (f64.add (f64x2.extract_lane 0 (local.get $s00)) (f64x2.extract_lane 1 (local.get $s00))))
        (f64.store offset=8 (local.get $cell) (f64.add (f64x2.extract_lane 0 (local.get $s01)) (f64x2.extract_lane 1 (local.get $s01))))
        (local.set $cell (i32.add (local.get $cell) (local.get $outStride)))
        (f64.store (local.get $cell) (f64.add (f64x2.extract_lane 0 (local.get $s10)) (f64x2.extract_lane 1 (local.get $s10))))
        (f64.store offset=8 (local.get $cell) (f64.add (f64x2.extract_lane 0 (local.get $s11)) (f64x2.extract_lane 1 (local.get $s11))))
        (local.set $cell (i32.add (local.get $cell) (local.get $outStride)))
        (f64.store (local.get $cell) (f64.add (f64x2.extract_lane 0 (local.get $s20)) (f64x2.extract_lane 1 (local.get $s20))))
        (f64.store offset=8 (local.get $cell) (f64.add (f64x2.extract_lane 0 (local.get $s21)) (f64x2.extract_lane 1 (local.get $s21))))
        (local.set $cell (i32.add (local.get $cell) (local.get $outStride)))
        (f64.store (local.get $cell) (f64.add (f64x2.extract_lane 0 (local.get $s30)) (f64x2.extract_lane 1 (local.get $s30))))
        (f64.store offset=8 (local.get $cell) (f64.add (f64x2.extract_lane 0 (local.get $s31)) (f64x2.extract_lane 1 (local.get $s31))))

        (local.set $j (i32.add (local.get $j) (i32.const 2)))
        (br_if $columns (i32.lt_u (local.get $j) (local.get $rowsB))))
      (local.set $i (i32.add (local.get $i) (i32.const 4)))
      (br_if $rows (i32.lt_u (local.get $i) (local.get $rowsA))))))
