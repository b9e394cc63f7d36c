/* Definitions that replace ECL's in native code: tcc inlines no function and keeps no variable in a
 * register. The common case is computed in place; ECL's function of the same name does the rest.
 * make-preamble includes this after ECL's headers. The text of an argument appears once in that of
 * a macro, or nested calls would double it with each. */
#ifndef ECLAVE_COMPILER_FAST_H
#define ECLAVE_COMPILER_FAST_H

/* The environment of the one thread. worker/native.c gives the linker its address. */
extern struct cl_env_struct eclave_environment;
#define ecl_process_env() (&eclave_environment)

/* Functions that ask for debugging are not recorded, as no others (worker/native_frames.h). */
#undef ecl_ihs_push
#undef ecl_ihs_pop
#define ecl_ihs_push(env, record, function, variables) ((void)0)
#define ecl_ihs_pop(env)                               ((void)0)

/* --- fixnums ---
 *
 * The bits of a fixnum are 4 * value + 3. So sums, differences and comparisons need no shift, and
 * a sum overflows if it is no fixnum. */

#define ECLAVE_ARE_FIXNUMS(x, y) (((cl_fixnum)(x) & (cl_fixnum)(y)&t_fixnum) == t_fixnum)

#define ecl_plus(x, y)                                                                             \
    ({                                                                                             \
        cl_object x_ = (x), y_ = (y), z_ = (cl_object)((cl_index)x_ + (cl_index)y_ - t_fixnum);    \
        ECLAVE_ARE_FIXNUMS(x_, y_) &&                                                              \
                (((cl_fixnum)x_ ^ (cl_fixnum)z_) & ((cl_fixnum)y_ ^ (cl_fixnum)z_)) >= 0           \
            ? z_                                                                                   \
            : ecl_plus(x_, y_);                                                                    \
    })

#define ecl_minus(x, y)                                                                            \
    ({                                                                                             \
        cl_object x_ = (x), y_ = (y), z_ = (cl_object)((cl_index)x_ - (cl_index)y_ + t_fixnum);    \
        ECLAVE_ARE_FIXNUMS(x_, y_) &&                                                              \
                (((cl_fixnum)x_ ^ (cl_fixnum)y_) & ((cl_fixnum)x_ ^ (cl_fixnum)z_)) >= 0           \
            ? z_                                                                                   \
            : ecl_minus(x_, y_);                                                                   \
    })

/* Both of 31 bits: then the product is a fixnum. */
#define ecl_times(x, y)                                                                            \
    ({                                                                                             \
        cl_object x_ = (x), y_ = (y);                                                              \
        ECLAVE_ARE_FIXNUMS(x_, y_) && (cl_index)((ecl_fixnum(x_) + (1L << 30)) |                   \
                                                 (ecl_fixnum(y_) + (1L << 30))) < 1UL << 31        \
            ? ecl_make_fixnum(ecl_fixnum(x_) * ecl_fixnum(y_))                                     \
            : ecl_times(x_, y_);                                                                   \
    })

#define ecl_one_plus(x)                                                                            \
    ({                                                                                             \
        cl_object x_ = (x);                                                                        \
        ECL_FIXNUMP(x_) && x_ != ecl_make_fixnum(MOST_POSITIVE_FIXNUM)                             \
            ? (cl_object)((cl_index)x_ + 4)                                                        \
            : ecl_one_plus(x_);                                                                    \
    })

#define ecl_one_minus(x)                                                                           \
    ({                                                                                             \
        cl_object x_ = (x);                                                                        \
        ECL_FIXNUMP(x_) && x_ != ecl_make_fixnum(MOST_NEGATIVE_FIXNUM)                             \
            ? (cl_object)((cl_index)x_ - 4)                                                        \
            : ecl_one_minus(x_);                                                                   \
    })

#define ecl_number_equalp(x, y)                                                                    \
    ({                                                                                             \
        cl_object x_ = (x), y_ = (y);                                                              \
        ECLAVE_ARE_FIXNUMS(x_, y_) ? x_ == y_ : ecl_number_equalp(x_, y_);                         \
    })

/* ECL's are macros. */
#undef ecl_lower
#define ecl_lower(x, y)                                                                            \
    ({                                                                                             \
        cl_object x_ = (x), y_ = (y);                                                              \
        ECLAVE_ARE_FIXNUMS(x_, y_)                                                                 \
        ? (cl_fixnum)x_ < (cl_fixnum)y_                                                            \
        : !ecl_float_nan_p(x_) && !ecl_float_nan_p(y_) && ecl_number_compare(x_, y_) < 0;          \
    })
#undef ecl_lowereq
#define ecl_lowereq(x, y)                                                                          \
    ({                                                                                             \
        cl_object x_ = (x), y_ = (y);                                                              \
        ECLAVE_ARE_FIXNUMS(x_, y_)                                                                 \
        ? (cl_fixnum)x_ <= (cl_fixnum)y_                                                           \
        : !ecl_float_nan_p(x_) && !ecl_float_nan_p(y_) && ecl_number_compare(x_, y_) <= 0;         \
    })
#undef ecl_greater
#define ecl_greater(x, y)                                                                          \
    ({                                                                                             \
        cl_object x_ = (x), y_ = (y);                                                              \
        ECLAVE_ARE_FIXNUMS(x_, y_)                                                                 \
        ? (cl_fixnum)x_ > (cl_fixnum)y_                                                            \
        : !ecl_float_nan_p(x_) && !ecl_float_nan_p(y_) && ecl_number_compare(x_, y_) > 0;          \
    })
#undef ecl_greatereq
#define ecl_greatereq(x, y)                                                                        \
    ({                                                                                             \
        cl_object x_ = (x), y_ = (y);                                                              \
        ECLAVE_ARE_FIXNUMS(x_, y_)                                                                 \
        ? (cl_fixnum)x_ >= (cl_fixnum)y_                                                           \
        : !ecl_float_nan_p(x_) && !ecl_float_nan_p(y_) && ecl_number_compare(x_, y_) >= 0;         \
    })

#define ecl_zerop(x)                                                                               \
    ({                                                                                             \
        cl_object x_ = (x);                                                                        \
        ECL_FIXNUMP(x_) ? x_ == ecl_make_fixnum(0) : ecl_zerop(x_);                                \
    })
#define ecl_plusp(x)                                                                               \
    ({                                                                                             \
        cl_object x_ = (x);                                                                        \
        ECL_FIXNUMP(x_) ? (cl_fixnum)x_ > t_fixnum : ecl_plusp(x_);                                \
    })
#define ecl_minusp(x)                                                                              \
    ({                                                                                             \
        cl_object x_ = (x);                                                                        \
        ECL_FIXNUMP(x_) ? (cl_fixnum)x_ < 0 : ecl_minusp(x_);                                      \
    })
#define ecl_oddp(x)                                                                                \
    ({                                                                                             \
        cl_object x_ = (x);                                                                        \
        ECL_FIXNUMP(x_) ? ((cl_fixnum)x_ & 4) != 0 : ecl_oddp(x_);                                 \
    })
#define ecl_evenp(x)                                                                               \
    ({                                                                                             \
        cl_object x_ = (x);                                                                        \
        ECL_FIXNUMP(x_) ? ((cl_fixnum)x_ & 4) == 0 : ecl_evenp(x_);                                \
    })

#define ecl_eql(x, y)                                                                              \
    ({                                                                                             \
        cl_object x_ = (x), y_ = (y);                                                              \
        x_ == y_ || (!ECL_IMMEDIATE(x_) && !ECL_IMMEDIATE(y_) && ecl_eql(x_, y_));                 \
    })

/* --- lists --- */

#define ecl_car(x)                                                                                 \
    ({                                                                                             \
        cl_object x_ = (x);                                                                        \
        ECL_CONSP(x_) ? ECL_CONS_CAR(x_) : ecl_car(x_);                                            \
    })
#define ecl_cdr(x)                                                                                 \
    ({                                                                                             \
        cl_object x_ = (x);                                                                        \
        ECL_CONSP(x_) ? ECL_CONS_CDR(x_) : ecl_cdr(x_);                                            \
    })
#define _ecl_car(x)                                                                                \
    ({                                                                                             \
        cl_object x_ = (x);                                                                        \
        Null(x_) ? x_ : ECL_CONS_CAR(x_);                                                          \
    })
#define _ecl_cdr(x)                                                                                \
    ({                                                                                             \
        cl_object x_ = (x);                                                                        \
        Null(x_) ? x_ : ECL_CONS_CDR(x_);                                                          \
    })
#define ecl_endp(x)                                                                                \
    ({                                                                                             \
        cl_object x_ = (x);                                                                        \
        ECL_LISTP(x_) ? Null(x_) : ecl_endp(x_);                                                   \
    })

/* --- calls ---
 *
 * ECL calls a function that is not in the same unit by way of two others. What native.lisp writes
 * instead calls the one that a name or an object has now, if it takes exactly these arguments. */

#define ECLAVE_TAKES(function, count)                                                              \
    (((cl_fixnum)(function)&3) == 0 &&                                                             \
     (*(const int *)(function)&0xff00ff) == (t_cfunfixed | (count) << 16))
#define eclave_call_name_0(env, name)                                                              \
    ({                                                                                             \
        cl_object n_ = (name), f_ = n_->symbol.gfdef;                                              \
        ECLAVE_TAKES(f_, 0) && !(n_->symbol.stype & ecl_stp_macro)                                 \
            ? ((cl_object(*)(void))f_->cfunfixed.entry_fixed)()                                    \
            : ecl_function_dispatch(env, n_)(0);                                                   \
    })
#define eclave_call_0(env, function)                                                               \
    ({                                                                                             \
        cl_object f_ = (function);                                                                 \
        ECLAVE_TAKES(f_, 0) ? ((cl_object(*)(void))f_->cfunfixed.entry_fixed)()                    \
                            : ecl_function_dispatch(env, f_)(0);                                   \
    })
#define eclave_call_name_1(env, name, a)                                                           \
    ({                                                                                             \
        cl_object n_ = (name), a_ = (a), f_ = n_->symbol.gfdef;                                    \
        ECLAVE_TAKES(f_, 1) && !(n_->symbol.stype & ecl_stp_macro)                                 \
            ? ((cl_object(*)(cl_object))f_->cfunfixed.entry_fixed)(a_)                             \
            : ecl_function_dispatch(env, n_)(1, a_);                                               \
    })
#define eclave_call_1(env, function, a)                                                            \
    ({                                                                                             \
        cl_object f_ = (function), a_ = (a);                                                       \
        ECLAVE_TAKES(f_, 1) ? ((cl_object(*)(cl_object))f_->cfunfixed.entry_fixed)(a_)             \
                            : ecl_function_dispatch(env, f_)(1, a_);                               \
    })
#define eclave_call_name_2(env, name, a, b)                                                        \
    ({                                                                                             \
        cl_object n_ = (name), a_ = (a), b_ = (b), f_ = n_->symbol.gfdef;                          \
        ECLAVE_TAKES(f_, 2) && !(n_->symbol.stype & ecl_stp_macro)                                 \
            ? ((cl_object(*)(cl_object, cl_object))f_->cfunfixed.entry_fixed)(a_, b_)              \
            : ecl_function_dispatch(env, n_)(2, a_, b_);                                           \
    })
#define eclave_call_2(env, function, a, b)                                                         \
    ({                                                                                             \
        cl_object f_ = (function), a_ = (a), b_ = (b);                                             \
        ECLAVE_TAKES(f_, 2)                                                                        \
        ? ((cl_object(*)(cl_object, cl_object))f_->cfunfixed.entry_fixed)(a_, b_)                  \
        : ecl_function_dispatch(env, f_)(2, a_, b_);                                               \
    })
#define eclave_call_name_3(env, name, a, b, c)                                                     \
    ({                                                                                             \
        cl_object n_ = (name), a_ = (a), b_ = (b), c_ = (c), f_ = n_->symbol.gfdef;                \
        ECLAVE_TAKES(f_, 3) && !(n_->symbol.stype & ecl_stp_macro)                                 \
            ? ((cl_object(*)(cl_object, cl_object, cl_object))f_->cfunfixed.entry_fixed)(a_, b_,   \
                                                                                         c_)       \
            : ecl_function_dispatch(env, n_)(3, a_, b_, c_);                                       \
    })
#define eclave_call_3(env, function, a, b, c)                                                      \
    ({                                                                                             \
        cl_object f_ = (function), a_ = (a), b_ = (b), c_ = (c);                                   \
        ECLAVE_TAKES(f_, 3)                                                                        \
        ? ((cl_object(*)(cl_object, cl_object, cl_object))f_->cfunfixed.entry_fixed)(a_, b_, c_)   \
        : ecl_function_dispatch(env, f_)(3, a_, b_, c_);                                           \
    })
#define eclave_call_name_4(env, name, a, b, c, d)                                                  \
    ({                                                                                             \
        cl_object n_ = (name), a_ = (a), b_ = (b), c_ = (c), d_ = (d), f_ = n_->symbol.gfdef;      \
        ECLAVE_TAKES(f_, 4) && !(n_->symbol.stype & ecl_stp_macro)                                 \
            ? ((cl_object(*)(cl_object, cl_object, cl_object,                                      \
                             cl_object))f_->cfunfixed.entry_fixed)(a_, b_, c_, d_)                 \
            : ecl_function_dispatch(env, n_)(4, a_, b_, c_, d_);                                   \
    })
#define eclave_call_4(env, function, a, b, c, d)                                                   \
    ({                                                                                             \
        cl_object f_ = (function), a_ = (a), b_ = (b), c_ = (c), d_ = (d);                         \
        ECLAVE_TAKES(f_, 4) ? ((cl_object(*)(cl_object, cl_object, cl_object,                      \
                                             cl_object))f_->cfunfixed.entry_fixed)(a_, b_, c_, d_) \
                            : ecl_function_dispatch(env, f_)(4, a_, b_, c_, d_);                   \
    })

#endif
