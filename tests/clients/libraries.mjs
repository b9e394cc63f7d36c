// The data of libraries.test.mjs: published libraries of Debian, each with its files in the order of
// its system definition, and expressions that must have the same values as in plain `ecl`.
const source = "/usr/share/common-lisp/source";

function files(directory, names) {
  return names.split(/\s+/).map((name) => `${source}/${directory}/${name}.lisp`);
}

export const libraries = {
  alexandria: [
    ...files(
      "alexandria/alexandria-1",
      "package definitions binding strings conditions symbols macros functions lists types io " +
        "hash-tables control-flow arrays sequences numbers features",
    ),
    ...files("alexandria/alexandria-2", "package arrays control-flow sequences lists"),
  ],
  "split-sequence": files("cl-split-sequence", "package vector list api documentation"),
  "cl-ppcre": files(
    "cl-ppcre",
    "packages specials util errors charset charmap chartest lexer parser regex-class " +
      "regex-class-util convert optimize closures repetition-closures scanner api",
  ),
};

// cl-ppcre's own tests: forms that are true.
export const ppcreSelfTest = `${source}/cl-ppcre/test/simple`;

export const expressions = [
  // alexandria: lists
  "(alexandria:flatten '(1 (2 (3 nil) 4) ((5))))",
  "(alexandria:iota 5 :start 1 :step 2)",
  "(alexandria:map-product #'list '(1 2) '(a b))",
  "(alexandria:plist-alist '(:a 1 :b 2))",
  "(alexandria:alist-plist '((:a . 1) (:b . 2)))",
  "(alexandria:remove-from-plist '(:a 1 :b 2 :c 3) :b)",
  "(alexandria:setp '(1 2 3 2))",
  "(alexandria:set-equal '(1 2 3) '(3 2 1))",
  "(alexandria:ensure-list 7)",
  "(alexandria:lastcar '(1 2 3))",
  "(let ((list (list 1 2))) (alexandria:appendf list '(3) '(4)) list)",
  "(alexandria:mappend #'identity '((1) (2 3)))",
  "(alexandria:assoc-value '((a . 1) (b . 2)) 'b)",
  "(alexandria:doplist (key value '(:a 1 :b 2)) (print (list key value)))",
  "(alexandria:proper-list-p '(1 2 . 3))",
  // alexandria: functions, binding and control flow
  "(funcall (alexandria:compose #'1+ #'abs) -5)",
  "(mapcar (alexandria:curry #'+ 10) '(1 2 3))",
  "(mapcar (alexandria:rcurry #'- 1) '(1 2 3))",
  "(funcall (alexandria:conjoin #'plusp #'evenp) 4)",
  "(alexandria:when-let ((x 1) (y nil)) (list x y))",
  "(alexandria:if-let ((x (find 3 '(1 2 3)))) (* x x) :none)",
  "(alexandria:switch (\"b\" :test #'string=) (\"a\" 1) (\"b\" 2) (t 3))",
  "(alexandria:eswitch (:z) (:a 1))",
  "(alexandria:xor nil 5 nil)",
  "(alexandria:destructuring-case '(:circle 3) ((:square a) (* a a)) ((:circle r) (list :r r)))",
  "(alexandria-2:line-up-first 5 (+ 20) (/ 25) (+ 40))",
  // alexandria: sequences, strings, numbers, hash tables, types
  "(alexandria:starts-with-subseq \"foo\" \"foobar\" :return-suffix t)",
  "(alexandria:ends-with-subseq \"bar\" \"foobar\")",
  "(alexandria:rotate (list 1 2 3 4 5) 2)",
  "(alexandria:extremum '(3 1 4 1 5) #'>)",
  "(let (all) (alexandria:map-permutations (lambda (p) (push p all)) '(1 2 3)) (length all))",
  "(let (all) (alexandria:map-combinations (lambda (c) (push c all)) '(a b c d) :length 2) (reverse all))",
  "(alexandria:symbolicate 'foo '- \"BAR\")",
  "(list (alexandria:clamp 15 0 10) (alexandria:lerp 1/4 0 8))",
  "(list (alexandria:factorial 25) (alexandria:binomial-coefficient 40 20) (alexandria:subfactorial 7))",
  "(list (alexandria:mean '(1 2 3 4)) (alexandria:median '(5 3 1)) (alexandria:variance '(1 2 3 4)))",
  "(sort (alexandria:hash-table-keys (alexandria:alist-hash-table '((c . 1) (a . 2) (b . 3)))) #'string<)",
  "(let ((table (make-hash-table))) (list (alexandria:ensure-gethash :a table 1) (alexandria:ensure-gethash :a table 2)))",
  "(list (typep 3 'alexandria:positive-integer) (typep 0 '(alexandria:string-designator)))",
  "(typep 5 '(alexandria:non-negative-fixnum))",
  "(alexandria:parse-body '(\"doc\" (declare (ignore x)) 1 2) :documentation t)",
  "(values (macroexpand-1 '(alexandria:when-let ((a 1)) a)))",
  // split-sequence
  "(split-sequence:split-sequence #\\Space \"the quick  brown fox\")",
  "(split-sequence:split-sequence #\\Space \"the quick  brown fox\" :remove-empty-subseqs t)",
  "(split-sequence:split-sequence #\\, \"a,b,c,d\" :count 2 :from-end t)",
  "(split-sequence:split-sequence-if #'digit-char-p \"a1b2c\")",
  "(split-sequence:split-sequence-if-not #'alpha-char-p \"one-two.three\")",
  "(split-sequence:split-sequence 0 #(1 2 0 3 0 0 4))",
  "(split-sequence:split-sequence 'x '(a x b c x) :start 1)",
  "(split-sequence:split-sequence #\\a 5)",
  // cl-ppcre
  '(ppcre:scan "(a)*b" "xaaabd")',
  '(ppcre:scan-to-strings "([^b]*)(b+)" "aaabbd")',
  '(ppcre:all-matches-as-strings "\\\\d+" "7 days, 24 hours, 1440 minutes")',
  '(ppcre:split "[;,]\\\\s*" "a, b;c,d;  e")',
  '(ppcre:regex-replace-all "(\\\\w+) (\\\\w+)" "hello world, good night" "\\\\2 \\\\1")',
  '(ppcre:regex-replace "fo+" "foo bar" (lambda (m &rest r) (declare (ignore r)) (string-upcase m)) :simple-calls t)',
  '(ppcre:register-groups-bind (year (#\'parse-integer month)) ("(\\\\d{4})-(\\\\d{2})" "on 2024-07-01") (list year month))',
  '(ppcre:parse-string "(?i)a{2,3}(?=b|c)")',
  '(ppcre:quote-meta-chars "a.b*c")',
  '(let (words) (ppcre:do-matches-as-strings (w "\\\\b[a-z]+\\\\b" "one 2 three") (push w words)) words)',
  '(ppcre:scan "(?<=x)λ+" "axλλ")',
  '(ppcre:create-scanner "(unbalanced")',
  // all three together, with new definitions
  `(defun word-counts (text)
     (let ((table (make-hash-table :test #'equal)))
       (dolist (word (split-sequence:split-sequence #\\Space (ppcre:regex-replace-all "[^a-z ]" text "")
                                                    :remove-empty-subseqs t))
         (incf (gethash word table 0)))
       (sort (alexandria:hash-table-alist table) #'string< :key #'car)))
   (word-counts "the cat, the dog; the end.")`,
];
