// What every recorder takes, with tracing on and off alike: how values become numbers, the forms of a call, and who else hears it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include "rigpact/stages.hpp"

namespace rigpact {

// How an element becomes numbers: specialise this for the engine's quaternions, vectors and transforms, or pass a type like it
// as `recorder.stage<MyElement>(…)`.
//     template <> struct rigpact::StageElement<MyQuat> {
//         using Number = float;
//         static constexpr int kNumbers = 4;
//         static void put(const MyQuat& q, float* out) { out[0] = q.x; out[1] = q.y; out[2] = q.z; out[3] = q.w; }
//     };
template <class T, class = void>
struct StageElement;

// A number is itself; bool and integers are the smaller of float and double that holds them.
template <class T>
struct StageElement<T, std::enable_if_t<std::is_arithmetic_v<T>>> {
    static constexpr bool is_small = std::is_same_v<T, float> || (std::is_integral_v<T> && sizeof(T) <= 2);
    using Number = std::conditional_t<is_small, float, double>;
    static constexpr int kNumbers = 1;
    static void put(T value, Number* out) { *out = static_cast<Number>(value); }
};

// A row of a matrix: its elements.
template <class T, std::size_t n>
struct StageElement<T[n]> {
    using Number = typename StageElement<T>::Number;
    static constexpr int kNumbers = static_cast<int>(n) * StageElement<T>::kNumbers;
    static void put(const T (&values)[n], Number* out) {
        for (const T& value : values) StageElement<T>::put(value, out), out += StageElement<T>::kNumbers;
    }
};

// A self-test in the place of a game: it hears every stage, and gives what otherwise comes from player, clip and network.
class StageListener {
public:
    virtual void hear(const char* stage, const void* values, int count, bool is_double) = 0;
    virtual bool give(const char* stage, void* values, int count, bool is_double) = 0;

protected:
    ~StageListener() = default;
};

// The forms of stage() and given(). Own has put<Element>(name, values, count) and fill(name, values, count, is_double), both const.
template <class Own>
class StageCalls {
public:
    // `count` elements: any number, or anything with a StageElement. The values are copied before it returns; of a stage that is
    // recorded twice in a frame the last one stays. Calls can be chained.
    template <class Element = void, class Name, class T>
    const Own& stage(const Name& name, const T* values, int count) const {
        using Form = std::conditional_t<std::is_void_v<Element>, StageElement<T>, Element>;
        static_assert(std::is_same_v<typename Form::Number, float> || std::is_same_v<typename Form::Number, double>, "a StageElement gives float or double");
        own().template put<Form>(stage_name(name), values, count);
        return own();
    }
    // A C array of any dimensions, or a list: {left, right}.
    template <class Element = void, class Name, class T, std::size_t n>
    const Own& stage(const Name& name, const T (&values)[n]) const {
        return this->template stage<Element>(name, &values[0], static_cast<int>(n));
    }
    // Anything with data() and size(), or with GetData() and Num(); one number; one element.
    template <class Element = void, class Name, class Any>
    const Own& stage(const Name& name, const Any& values) const {
        if constexpr (has_data<Any>(0)) return this->template stage<Element>(name, values.data(), static_cast<int>(values.size()));
        else if constexpr (has_get_data<Any>(0)) return this->template stage<Element>(name, values.GetData(), static_cast<int>(values.Num()));
        else return this->template stage<Element>(name, &values, 1);
    }

    // In a self-test what comes from outside: true, and the row is filled. False in a game, and nothing is touched.
    template <class Name, class Number>
    bool given(const Name& name, Number* values, int count) const {
        static_assert(std::is_same_v<Number, float> || std::is_same_v<Number, double>, "rows of float or double");
        return own().fill(stage_name(name), values, count, std::is_same_v<Number, double>);
    }
    template <class Name, class Number, std::size_t n>
    bool given(const Name& name, Number (&values)[n]) const {
        return given(name, &values[0], static_cast<int>(n));
    }
    template <class Name, class Any>
    bool given(const Name& name, Any& values) const {
        if constexpr (has_data<Any>(0)) return given(name, values.data(), static_cast<int>(values.size()));
        else return given(name, values.GetData(), static_cast<int>(values.Num()));
    }

private:
    static const char* stage_name(Stage which) { return kStageNames[static_cast<int>(which)]; }
    static const char* stage_name(const char* name) { return name; }
    template <class Any>
    static constexpr auto has_data(int) -> decltype(static_cast<void>(static_cast<const Any*>(nullptr)->data()), true) { return true; }
    template <class Any>
    static constexpr bool has_data(long) { return false; }
    template <class Any>
    static constexpr auto has_get_data(int) -> decltype(static_cast<void>(static_cast<const Any*>(nullptr)->GetData()), true) { return true; }
    template <class Any>
    static constexpr bool has_get_data(long) { return false; }

    const Own& own() const { return static_cast<const Own&>(*this); }
};

}  // namespace rigpact
